# %% [markdown]
# # Which segmentation finds the hidden states?
#
# Adjusted mutual information (AMI; 0 is chance, 1 perfect) of states found and hidden in synthetic worms. The HMM
# needs `python -m pip install hmmlearn`, PCCA+ deeptime. Arguments are the number of worms, and minutes of each:
# `python examples/compare_segmentations.py 4 10`

# %%
import sys
from importlib.util import find_spec

import numpy as np
from sklearn.metrics import adjusted_mutual_info_score as ami

import ethomarkov as em
from ethomarkov._core.series import Series
from ethomarkov.coarse.pcca import pcca_tree
from ethomarkov.coarse.tree import grow_tree
from ethomarkov.states import Symbols

N_STATES, LAG, VISITS = 7, 0.75, 150


def hidden_markov_labels(postures: Series) -> np.ndarray:
    from hmmlearn.hmm import GaussianHMM

    segments, labels = postures.segments, np.full(postures.segments.n_rows, -1)
    values = postures.values[segments.valid].astype(float)
    model = GaussianHMM(N_STATES, covariance_type="full", n_iter=50, random_state=0)
    labels[segments.valid] = model.fit(values, segments.lengths).predict(values, segments.lengths)
    return labels


def segmentations(postures: Series, sequences: Series, symbols: Symbols) -> dict[str, np.ndarray | None]:
    chain = em.MarkovChain.from_symbols(symbols, LAG)
    tree, flat = grow_tree(chain, N_STATES), pcca_tree(chain, N_STATES) if find_spec("deeptime") else None
    return {
        "tree of states": symbols.relabel(tree.states_at(N_STATES)).labels,
        "k-means of the same sequences": em.Partition(N_STATES).fit(sequences).label(sequences).labels,
        "Gaussian HMM of postures": hidden_markov_labels(postures) if find_spec("hmmlearn") else None,
        "PCCA+": symbols.relabel(flat.states_at(N_STATES)).labels if flat else None,
    }


def main(n_worms: int = 4, minutes: float = 10.0) -> None:
    worms = em.simulate_worms(n_worms, minutes * 60)
    postures = worms.basis.project(worms.recording)
    sequences = em.DelayEmbedding(11).transform(postures)
    valid = sequences.segments.valid
    symbols = em.Partition(min(1000, valid.sum() // VISITS)).fit(sequences).label(sequences)
    print(f"| {N_STATES} states of {n_worms} worms, {minutes:g} min | AMI |\n|---|---|")
    for name, labels in segmentations(postures, sequences, symbols).items():
        known = valid & (labels is not None and labels >= 0)
        score = "not installed" if labels is None else f"{ami(worms.truth.states[known], labels[known]):.3f}"
        print(f"| {name} | {score} |")


if __name__ == "__main__":
    main(*(kind(value) for kind, value in zip((int, float), sys.argv[1:], strict=False)))
