"""Sources as recordings of their own."""

from __future__ import annotations

from typing import Any

from .._types import Array
from .recordings import mne_package


def as_recording(data: Array, inst: Any) -> Any:
    """Time courses ([n_epochs, ]k, n_times) as channels UC1, UC2, ... with the times, annotations and events of ``inst``."""
    mne = mne_package()
    names = [f"UC{i + 1}" for i in range(data.shape[-2])]
    info = mne.create_info(names, inst.info["sfreq"], "misc", verbose=False)
    info.set_meas_date(inst.info["meas_date"])
    if isinstance(inst, mne.io.BaseRaw):
        found = mne.io.RawArray(data, info, first_samp=inst.first_samp, verbose=False)
    else:
        found = mne.EpochsArray(
            data,
            info,
            events=inst.events,
            tmin=inst.tmin,
            event_id=inst.event_id,
            metadata=inst.metadata,
            selection=inst.selection,
            drop_log=inst.drop_log,
            verbose=False,
        )
    return found.set_annotations(inst.annotations)
