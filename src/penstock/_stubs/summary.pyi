# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.summary import *
from penstock.summary.writers import SummaryWriter as SummaryWriter
from penstock.summary.plots import audio as audio
from penstock.summary.writers import create_file_writer as create_file_writer
from penstock.summary.writers import create_noop_writer as create_noop_writer
from penstock.summary.writers import flush as flush
from penstock.summary.writers import graph as graph
from penstock.summary.plots import histogram as histogram
from penstock.summary.plots import image as image
from penstock.summary.writers import record_if as record_if
from penstock.summary.plots import scalar as scalar
from penstock.summary.writers import should_record_summaries as should_record_summaries
from penstock.summary.plots import text as text
from penstock.summary.tracing import trace_export as trace_export
from penstock.summary.tracing import trace_off as trace_off
from penstock.summary.tracing import trace_on as trace_on
from penstock.summary.writers import write as write
from penstock._stubs import summary_experimental as experimental
