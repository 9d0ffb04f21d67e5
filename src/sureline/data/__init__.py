"""Files and tables in; for now, the embedded data set of the demonstration."""

from sureline.data.embedded import sms_spam

__all__ = ["sms_spam"]
