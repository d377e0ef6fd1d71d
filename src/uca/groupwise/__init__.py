"""Every group of one table once as the target, with all the other groups as its backgrounds.

Promises: each group's model and test are those of :class:`uca.UCA` and :func:`uca.inference.uniqueness_test` on its rows and
those of the others; p-values are adjusted for the number of groups; a group that cannot be fitted or tested is in the
result with the reason and does not stop the others; the answer does not depend on the number of workers.
"""

from .outcome import Each, EachGroup
from .run import each

__all__ = ["Each", "EachGroup", "each"]
