"""Which method finds labels that it was not shown? Target and background settings from real data.

Settings, methods, splits and scoring were fixed before the first run, and not changed by what came out. Two things about the
tables were added after it: the rows "by units", and that only a method fitted in all splits can be "the best".

Settings. Each has a target, one or more backgrounds that a user would have, and labels of the target's rows that no method
sees. A background is natural if it has the nuisance (handwriting, identity, cell size, market) and not the labels.

========================  ==============================  =====================================  ===========================
setting                   target, labels                  background, why it is natural          held out together
========================  ==============================  =====================================  ===========================
mice, 1 background        mice not stimulated to learn;   stimulated controls: they vary as      all 15 rows of a mouse
                          genotype                        mice do, and have one genotype
mice, 3 backgrounds       stimulated mice; genotype       three other groups of one genotype     all 15 rows of a mouse
London faces              half of the people, neutral     neutral faces of the other people:     both photographs of a
                          and smiling; expression         identity without a smile               person
blood, myeloid            monocytes and dendritic cells;  T, B and NK cells: size, cycle and     cells (donor unknown)
                          which                           quality vary in all cells
blood, T and NK           T and NK cells; CD4, CD8 or NK  monocytes, dendritic and B cells       cells (donor unknown)
tumours                   malignant cells; which of four  oligodendrocytes and microglia of      cells (the label is the
                          tumours                         the same samples                       patient)
coffee                    spectra of two countries;       spectra of the third: water, baseline  spectra (samples unknown)
                          which                           and grinding vary within a country
stocks                    weeks of three bear markets;    weeks of three calm periods: the       all weeks of a quarter
                          which                           market's common volatility
motions                   walking, running, badminton;    standing: sensor, posture and noise    recordings (the students
                          which                                                                  are not named)
speakers                  utterances of four speakers;    five other speakers, each a            utterances
                          which                           background: how /ae/ is said
digits                    two digits; which               the other eight digits, each a         images (writers unknown)
                                                          background: handwriting
digits on grass           0 and 1 over grass; which       other grass                            images
digits on grass, brick    3 and 8 over grass and brick;   a little grass, much brick             images
                          which
wine                      two cultivars; which            the third: soil and year               wines
breast                    malignant tumours and half of   the other benign ones                  patients
                          the benign; which
faces among patches       100 faces and half of 100       the other patches without a face:      patches
                          other patches; face or not      edges and light
========================  ==============================  =====================================  ===========================

Labels of blood cells were made from the expression of the same cells by the data's authors; figures there are about
agreement with them. Digits on textures are real photographs, put on each other.

Draws. Where a choice would be arbitrary it is drawn anew in every split: which people, benign tumours and patches are
background, which four speakers and which two digits are the target; countries and cultivars take turns.

Features. Tumours: log-expression of the 1 000 genes that vary most among all cells. Blood: log-expression of the 765 genes
that come with the data. Coffee: means of 4 neighbouring wavenumbers. Stocks: log of a week's SD of daily log returns.
Motions: log power in 25 bands of each of 6 channels. Speakers: 12 coefficients, means of three thirds of the utterance.

Splits. A third of the units (the last column; in proportion to the labels) is held out. Methods see the other rows, without
labels, and all background rows. A logistic regression on the scores of these rows, standardised, learns the labels; its AUC
is that of the held-out rows (more than two labels: mean of one against the rest). Clustering: k-means on the held-out
scores, divided by the SDs of the other rows (and not divided, for comparison), with as many clusters as labels;
adjusted Rand index.

Components: 1, 2 and 5. The figure that decides is the AUC on two.

Methods, each with ``scale=True`` and ``False``, defaults otherwise: those of ``methods.py``. Sparse components have 10
features, are searched without proof, and are fitted in the first 10 splits only, because they take most of the time; their
differences from other methods are in these splits. "By units": unscaled where units are common, scaled where they are mixed,
as the docs advised before; which are which is in ``sets.py``.

Intervals, 95 %, over splits. Splits share rows, so the variance is that of Nadeau & Bengio (2003), ``s^2 (1/J + 1/2)``, with
Student's t. They are about these data: another sample, or another background where it is not drawn anew, may differ by more.
A method is "as good as the best" in a setting if the interval of its difference from the best (paired by split) includes 0.
The best is the best of those that are fitted in all splits.
"""
