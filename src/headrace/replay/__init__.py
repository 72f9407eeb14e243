"""What phases decide with: the seen set (who hides whom) and skipping (who cannot matter).

Keys and columns of a batch enter; answers about each of its files leave.
"""
