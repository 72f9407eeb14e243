"""What is written in C: loops over bytes that neither Arrow nor NumPy has, and that hold no lock.

Enters: buffers. Leaves: buffers, or nothing where the input is unusual.
Every function has another way beside it, which is slower and knows everything: a package that was
built without a compiler gives the same answers.
"""
