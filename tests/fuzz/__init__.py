"""Damaged and hostile files over every reader: ``make fuzz``, and a short run in ``tests/test_fuzz.py``.

``seeds.py`` makes small valid files, ``damage.py`` changes them, ``worker.py`` reads them in a process of its own with
limits, ``campaign.py`` keeps the worker alive and judges what it says, and ``run.py`` is the program.
"""
