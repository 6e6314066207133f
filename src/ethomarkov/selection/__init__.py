"""The choice of sequence length, number of microstates and lag from the recording, with reasons."""

from ethomarkov.selection.choice import Fixed, ModelChoice, choose_model

__all__ = ["Fixed", "ModelChoice", "choose_model"]
