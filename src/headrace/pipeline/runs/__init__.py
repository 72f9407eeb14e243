"""The records of runs, and the artifact store that keeps them.

What a run did enters, view by view; records leave that can be listed, shown, compared and
replayed. Nothing is executed here.
"""
