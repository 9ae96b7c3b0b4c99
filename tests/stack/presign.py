"""Signs an S3 URL with Signature Version 4. It implements the published algorithm without the SDK.

    presign.py METHOD URL ACCESS_KEY SECRET_KEY REGION SECONDS_AGO EXPIRES [HEADER=VALUE]...

Prints the URL as signed SECONDS_AGO seconds ago. The signature covers the headers and the host.
"""

import datetime
import hashlib
import hmac
import sys
import urllib.parse


def presign(method, url, access_key, secret_key, region, moment, expires, headers):
    place = urllib.parse.urlsplit(url)
    headers = {"host": place.netloc} | {name.lower(): value.strip() for name, value in headers.items()}
    names = ";".join(sorted(headers))
    stamp = moment.strftime("%Y%m%dT%H%M%SZ")
    scope = f"{stamp[:8]}/{region}/s3/aws4_request"
    query = encoded(
        {
            "X-Amz-Algorithm": "AWS4-HMAC-SHA256",
            "X-Amz-Credential": f"{access_key}/{scope}",
            "X-Amz-Date": stamp,
            "X-Amz-Expires": str(expires),
            "X-Amz-SignedHeaders": names,
        }
    )
    lines = "".join(f"{name}:{headers[name]}\n" for name in sorted(headers))
    canonical = "\n".join([method, urllib.parse.quote(place.path), query, lines, names, "UNSIGNED-PAYLOAD"])
    to_sign = "\n".join(["AWS4-HMAC-SHA256", stamp, scope, hashlib.sha256(canonical.encode()).hexdigest()])
    key = f"AWS4{secret_key}".encode()
    for part in scope.split("/"):
        key = mac(key, part)
    return f"{url}?{query}&X-Amz-Signature={mac(key, to_sign).hex()}"


def encoded(parameters):
    quote = urllib.parse.quote
    return "&".join(f"{quote(name, safe='')}={quote(value, safe='')}" for name, value in sorted(parameters.items()))


def mac(key, text):
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


if __name__ == "__main__":
    method, url, access_key, secret_key, region, seconds_ago, expires, *headers = sys.argv[1:]
    moment = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(seconds=int(seconds_ago))
    headers = dict(header.split("=", 1) for header in headers)
    print(presign(method, url, access_key, secret_key, region, moment, int(expires), headers))
