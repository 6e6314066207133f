"""PCCA+, for comparison with the tree."""

import numpy as np

from ethomarkov._core.optional import require
from ethomarkov.coarse.tree import ROOT, StateTree, TreeNode, tree_of
from ethomarkov.markov.chain import MarkovChain


def pcca_tree(chain: MarkovChain, n_states: int) -> StateTree:
    """Group the microstates by PCCA+: one division of the root into `n_states` at once.

    Needs deeptime. The reversibilised chain is grouped, because PCCA+ is defined for reversible chains; every
    microstate goes to the state of its largest membership.

    Parameters
    ----------
    chain
        Of all microstates.
    n_states
        Number of states.
    """
    markov = require("deeptime.markov", extra="deeptime", purpose="PCCA+")
    found = markov.pcca(chain.reversibilized().transition.toarray(), n_states)
    crisp = np.asarray(found.memberships).argmax(axis=1)
    weight = np.bincount(crisp, chain.stationary, n_states)
    order = np.argsort(-weight, kind="stable")
    node_of = np.full(chain.n_states, -1, dtype=np.int32)
    node_of[chain.states] = np.argsort(order)[crisp] + 1
    nodes = [TreeNode(parent=-1, born=1, measure=1.0, divided=n_states)]
    nodes += [TreeNode(parent=ROOT, born=n_states, measure=float(share)) for share in weight[order]]
    return tree_of(nodes, node_of, "flux", chain.lag)
