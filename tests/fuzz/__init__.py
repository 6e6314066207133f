"""Files that are damaged or made to harm, made from seeds and read within limits.

``python tests/fuzz/run.py --files 10000 --seed 1`` reads many of them; the tests read a few.
"""
