# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.ops.string_numbers import as_string as as_string
from penstock.ops.string_split import bytes_split as bytes_split
from penstock.ops.text_format import string_format as format
from penstock.ops.string_basics import join as join
from penstock.ops.string_basics import length as length
from penstock.ops.string_basics import lower as lower
from penstock.ops.string_split import ngrams as ngrams
from penstock.ops.string_joining import reduce_join as reduce_join
from penstock.ops.string_regex import regex_full_match as regex_full_match
from penstock.ops.string_regex import regex_replace as regex_replace
from penstock.ops.string_split import split as split
from penstock.ops.string_basics import strip as strip
from penstock.ops.string_basics import substr as substr
from penstock.ops.string_to_hash import to_hash_bucket as to_hash_bucket
from penstock.ops.string_to_hash import to_hash_bucket_fast as to_hash_bucket_fast
from penstock.ops.string_to_hash import to_hash_bucket_strong as to_hash_bucket_strong
from penstock.ops.string_numbers import to_number as to_number
from penstock.ops.string_unicode import unicode_decode as unicode_decode
from penstock.ops.string_unicode import unicode_decode_with_offsets as unicode_decode_with_offsets
from penstock.ops.string_unicode import unicode_encode as unicode_encode
from penstock.ops.string_unicode import unicode_script as unicode_script
from penstock.ops.string_unicode import unicode_split as unicode_split
from penstock.ops.string_unicode import unicode_split_with_offsets as unicode_split_with_offsets
from penstock.ops.string_unicode import unicode_transcode as unicode_transcode
from penstock.ops.string_joining import unsorted_segment_join as unsorted_segment_join
from penstock.ops.string_basics import upper as upper
