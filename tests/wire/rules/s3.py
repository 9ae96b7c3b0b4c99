"""S3: names, keys, lengths, checksums, the life of a presigned URL."""

import base64
import hashlib
import re
import urllib.parse
import zlib

BUCKET = re.compile(r"(?!\d+\.\d+\.\d+\.\d+$)(?!.*\.\.)[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
LONGEST_KEY = 1024
LARGEST_OBJECT = 5 * 1024**3
LARGEST_METADATA = 2048
LONGEST_LIFE = 7 * 24 * 3600


def bucket_name(call, _tables):
    bucket = call.parameters.get("Bucket") if call.service == "s3" else None
    if bucket is not None and not BUCKET.fullmatch(bucket):
        yield f"{bucket!r} is no name of a bucket"


def object_key_length(call, _tables):
    key = call.parameters.get("Key", "") if call.service == "s3" else ""
    if len(key.encode()) > LONGEST_KEY:
        yield f"the key has {len(key.encode())} bytes, at most {LONGEST_KEY}"


def checksum(call, _tables):
    """Each checksum that the request gives is that of its body."""
    if call.service != "s3" or call.exchange.method not in ("PUT", "POST"):
        return
    headers, body = call.exchange.headers, call.exchange.body
    if headers.get("x-amz-content-sha256", "").startswith("STREAMING-"):
        return  # the body is in chunks, whose checksum comes after them
    for name, digest in CHECKSUMS.items():
        if name in headers and headers[name] != base64.b64encode(digest(body)).decode():
            yield f"{name} is {headers[name]}, but the body's is {base64.b64encode(digest(body)).decode()}"
    signed = headers.get("x-amz-content-sha256", "")
    if re.fullmatch(r"[0-9a-f]{64}", signed) and signed != hashlib.sha256(body).hexdigest():
        yield "x-amz-content-sha256 is not the digest of the body"


def length(call, _tables):
    if call.service != "s3" or call.operation not in ("PutObject", "UploadPart"):
        return
    if "content-length" not in call.exchange.headers:
        yield "Content-Length is required"
    if len(call.exchange.body) > LARGEST_OBJECT:
        yield f"the object has {len(call.exchange.body)} bytes, at most {LARGEST_OBJECT}"


def metadata_size(call, _tables):
    if call.service == "s3" and (metadata := call.parameters.get("Metadata")):
        size = sum(len(name.encode()) + len(value.encode()) for name, value in metadata.items())
        if size > LARGEST_METADATA:
            yield f"the metadata has {size} bytes, at most {LARGEST_METADATA}"


def presigned_life(call, _tables):
    if "X-Amz-Signature=" not in call.exchange.target:
        return
    query = urllib.parse.parse_qs(urllib.parse.urlsplit(call.exchange.target).query)
    seconds = query.get("X-Amz-Expires", [""])[0]
    if not seconds.isdigit() or int(seconds) > LONGEST_LIFE:
        yield f"X-Amz-Expires is {seconds!r}, at most {LONGEST_LIFE} seconds"


RULES = [bucket_name, object_key_length, checksum, length, metadata_size, presigned_life]

CHECKSUMS = {
    "content-md5": lambda body: hashlib.md5(body, usedforsecurity=False).digest(),
    "x-amz-checksum-sha256": lambda body: hashlib.sha256(body).digest(),
    "x-amz-checksum-sha1": lambda body: hashlib.sha1(body, usedforsecurity=False).digest(),
    "x-amz-checksum-crc32": lambda body: zlib.crc32(body).to_bytes(4, "big"),
}
