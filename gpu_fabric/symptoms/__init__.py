"""Error texts that software of a GPU cluster prints: what each means, and what mends it."""

from gpu_fabric.symptoms.table import Recognised, Subject, Symptom, advice, first_step, recognised, subjects, symptoms

__all__ = ["Recognised", "Subject", "Symptom", "advice", "first_step", "recognised", "subjects", "symptoms"]
