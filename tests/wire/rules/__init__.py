"""The rules that AWS holds requests and responses to, by subject.

A rule is a generator function of a call and of what the judge knows about the stack's tables. It yields a sentence for each
violation. Each module lists its rules in `RULES`.
"""

from rules import answers, expressions, indexes, keys, limits, s3, shapes, sqs, values

ALL = [
    *shapes.RULES,
    *values.RULES,
    *expressions.RULES,
    *keys.RULES,
    *indexes.RULES,
    *limits.RULES,
    *sqs.RULES,
    *s3.RULES,
    *answers.RULES,
]
