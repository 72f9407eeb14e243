"""Counters and events of snapshots and scans, and the reporters that receive them.

Phases and scans emit events; reporters turn them into log lines or metrics.
"""
