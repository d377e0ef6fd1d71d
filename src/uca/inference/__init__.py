"""Is it real? How many? How stable? Answers about the components of a :class:`~uca.UCA`, from rows alone.

Every method of this field draws a picture from any data, noise included. The functions here say what may be believed
of it:

* :func:`uniqueness_test`: does the target vary more along each component than every background, on rows that did not
  choose it?
* :func:`estimate_n_components`: how many components are unique, by that test and by a fast screening.
* :func:`bootstrap`: how far components, loadings, multipliers and variances move when the rows are drawn again.
* :func:`background_influence`: what each background contributes, and whether pooling them changes the answer.
* :func:`expected_background_variance`: what new background rows should show along each component, by leaving out subjects.
* :func:`choose_restriction`: how far to hold a fit back so that its bounds hold on new rows.
* :func:`leave_one_group_out`: what a handful of groups (donors, animals) can show, where no test can speak of others.
* :func:`row_leverage`: how much a component depends on single rows.

All take rows in memory, dense or sparse; all are deterministic for a seed, whatever the number of workers.
"""

from ..estimators.restriction import Restriction, TradeOff
from ..estimators.sparsity import SparsityPath
from .backgrounds import background_influence
from .groups_left_out import leave_one_group_out
from .influence import BackgroundInfluence
from .left_out import LeftOutGroups
from .leverage import RowLeverage, row_leverage
from .newrows import ExpectedVariance, expected_background_variance
from .number import NumberOfComponents, estimate_n_components
from .outcome import UniquenessTest
from .resampled import Bootstrap
from .restriction import choose_restriction
from .stability import bootstrap
from .uniqueness import uniqueness_test

__all__ = [
    "BackgroundInfluence",
    "Bootstrap",
    "ExpectedVariance",
    "LeftOutGroups",
    "NumberOfComponents",
    "Restriction",
    "RowLeverage",
    "SparsityPath",
    "TradeOff",
    "UniquenessTest",
    "background_influence",
    "bootstrap",
    "choose_restriction",
    "estimate_n_components",
    "expected_background_variance",
    "leave_one_group_out",
    "row_leverage",
    "uniqueness_test",
]
