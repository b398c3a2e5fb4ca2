# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.checkpoint.saved_model.constants import CLASSIFY_INPUTS as CLASSIFY_INPUTS
from penstock.checkpoint.saved_model.constants import CLASSIFY_METHOD_NAME as CLASSIFY_METHOD_NAME
from penstock.checkpoint.saved_model.constants import CLASSIFY_OUTPUT_CLASSES as CLASSIFY_OUTPUT_CLASSES
from penstock.checkpoint.saved_model.constants import CLASSIFY_OUTPUT_SCORES as CLASSIFY_OUTPUT_SCORES
from penstock.checkpoint.saved_model.constants import DEFAULT_SERVING_SIGNATURE_DEF_KEY as DEFAULT_SERVING_SIGNATURE_DEF_KEY
from penstock.checkpoint.saved_model.constants import PREDICT_INPUTS as PREDICT_INPUTS
from penstock.checkpoint.saved_model.constants import PREDICT_METHOD_NAME as PREDICT_METHOD_NAME
from penstock.checkpoint.saved_model.constants import PREDICT_OUTPUTS as PREDICT_OUTPUTS
from penstock.checkpoint.saved_model.constants import REGRESS_INPUTS as REGRESS_INPUTS
from penstock.checkpoint.saved_model.constants import REGRESS_METHOD_NAME as REGRESS_METHOD_NAME
from penstock.checkpoint.saved_model.constants import REGRESS_OUTPUTS as REGRESS_OUTPUTS
