"""How long posture sequences, how many microstates and which lag: chosen from the recording, with reasons."""

from ethomarkov.selection.choice import Fixed, ModelChoice, choose_model

__all__ = ["Fixed", "ModelChoice", "choose_model"]
