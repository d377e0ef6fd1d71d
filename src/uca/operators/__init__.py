"""Data as covariance operators, in six rooms; imports only point up this list.

``statistics``
    Means, deviations and what each dataset is standardised by; what rounding may cost. The one room that divides by a
    number of rows.
``contract``
    All that a solver may know about data: a covariance operator, and a pencil of them.
``eigen``
    Top eigenpairs of combinations, directly or by products that are remembered.
``sources``
    Rows where they are: in memory or a mapped file, sparse, on dask, on another device. Each makes the passes that a
    representation asks for.
``gaps``
    Values that are missing: normal laws estimated from what is there, and what they say about the gaps.
``representations``
    Ways to hold data as a pencil, one file each, behind one registry.
"""
