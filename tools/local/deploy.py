"""Deploys template.yaml into the emulator, as `sam deploy` does into AWS.

    deploy.py --template FILE --binaries FOLDER --artifacts FOLDER --endpoint URL --stack NAME [--parameter NAME=VALUE]...

It packs each function's binary (FOLDER/<last part of its CodeUri>), sets CodeUri to the packed file and creates the
stack. Then it sets the APIs' gateway responses, because the emulator does not create them from the SAM template. It
logs its steps on standard error. It prints the stack's outputs as one JSON object. The APIs' URLs are those of the emulator.
"""

import argparse
import concurrent.futures
import fcntl
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import zipfile

import boto3
import botocore.config
import yaml

BUCKET = "local-artifacts"
# The number of packages that are kept for each function. Other stacks of this checkout may use earlier builds.
KEPT_PACKAGES = 3
DEPLOY_SECONDS = 120
# The host of an API, as the template names it.
AWS_HOST = r"https://(\$\{\w+\})\.execute-api\.\$\{AWS::Region\}\.\$\{AWS::URLSuffix\}"


def main():
    parser = argparse.ArgumentParser()
    for name in ["template", "binaries", "artifacts", "endpoint", "stack"]:
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--parameter", action="append", default=[])
    options = parser.parse_args()

    template = at_emulator(read_template(options.template), options.endpoint)
    read_media_types(template)
    functions = functions_of(template)
    packages = pack_all(functions, pathlib.Path(options.binaries), pathlib.Path(options.artifacts))
    aws = Clients(options.endpoint)
    upload(aws, template, functions, packages)
    outputs = create_stack(aws, options.stack, template, options.parameter)
    apply_gateway_responses(aws, options.stack)
    print(json.dumps(outputs))


class Clients:
    def __init__(self, endpoint):
        config = botocore.config.Config(retries={"max_attempts": 1})
        for service in ["apigateway", "cloudformation", "s3"]:
            setattr(self, service, boto3.client(service, endpoint_url=endpoint, config=config))


# --- the template ----------------------------------------------------------------------------------------------------


class TemplateLoader(yaml.CSafeLoader):
    """Loads YAML with CloudFormation's short forms: `!Sub x` becomes `{"Fn::Sub": x}`."""


def short_form(loader, name, node):
    if isinstance(node, yaml.ScalarNode):
        value = loader.construct_scalar(node)
    elif isinstance(node, yaml.SequenceNode):
        value = loader.construct_sequence(node, deep=True)
    else:
        value = loader.construct_mapping(node, deep=True)
    if name == "GetAtt" and isinstance(value, str):
        value = value.split(".", 1)
    return {name if name in ("Ref", "Condition") else f"Fn::{name}": value}


TemplateLoader.add_multi_constructor("!", short_form)


def read_template(path):
    with open(path, encoding="utf-8") as file:
        return yaml.load(file, TemplateLoader)


def at_emulator(value, endpoint):
    """The APIs' URLs, as outputs and in variables of functions, with the emulator in the place of AWS's hosts, which nothing serves."""
    if isinstance(value, dict):
        return {key: at_emulator(item, endpoint) for key, item in value.items()}
    if isinstance(value, list):
        return [at_emulator(item, endpoint) for item in value]
    if isinstance(value, str):
        return re.sub(AWS_HOST, rf"{endpoint}/_aws/execute-api/\1", value)
    return value


def read_media_types(template):
    """API Gateway reads `~1` in a media type as `/`. The emulator takes it as it stands, and would match no body."""
    for resource in template["Resources"].values():
        types = resource.get("Properties", {}).get("BinaryMediaTypes", [])
        types[:] = [name.replace("~1", "/") for name in types]


def functions_of(template):
    """Resource name -> binary name."""
    return {
        name: pathlib.PurePosixPath(resource["Properties"]["CodeUri"]).name
        for name, resource in template["Resources"].items()
        if resource["Type"] == "AWS::Serverless::Function"
    }


# --- packages --------------------------------------------------------------------------------------------------------


def pack_all(functions, binaries, artifacts):
    artifacts.mkdir(parents=True, exist_ok=True)
    names = sorted(set(functions.values()))
    missing = [name for name in names if not (binaries / name).is_file()]
    if missing:
        sys.exit(f"{binaries} holds no {', '.join(missing)}: build the functions first.")
    # Stacks of this checkout that start at once would pack the same files. The first one packs, and the others wait.
    with open(artifacts / "lock", "w") as lock, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as workers:
        fcntl.flock(lock, fcntl.LOCK_EX)
        packages = workers.map(lambda name: pack(name, binaries / name, artifacts), names)
        return dict(zip(names, packages))


def pack(name, binary, artifacts):
    """Returns the zip of a binary without its symbols. Each build is packed once."""
    package = artifacts / f"{name}-{build_of(binary)}.zip"
    if package.exists():
        package.touch()
        return package
    say(f"packing {name}")
    with tempfile.TemporaryDirectory(dir=artifacts) as folder:
        stripped = pathlib.Path(folder, "bootstrap")
        subprocess.run(["strip", "-o", stripped, binary], check=True)
        packed = pathlib.Path(folder, "package.zip")
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            archive.write(stripped, "bootstrap")
        packed.rename(package)
    forget_old(name, artifacts)
    return package


def build_of(binary):
    """Names a build by its file. To read the gigabyte of all functions takes seconds at each start."""
    file = binary.stat()
    text = f"{binary.resolve()} {file.st_ino} {file.st_size} {file.st_mtime_ns}"
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def forget_old(name, artifacts):
    digest = "[0-9a-f]" * 32
    packages = sorted(artifacts.glob(f"{name}-{digest}.zip"), key=lambda path: path.stat().st_mtime)
    for package in packages[:-KEPT_PACKAGES]:
        package.unlink(missing_ok=True)


def upload(aws, template, functions, packages):
    aws.s3.create_bucket(Bucket=BUCKET)
    for package in packages.values():
        aws.s3.put_object(Bucket=BUCKET, Key=package.name, Body=package.read_bytes())
    for resource, binary in functions.items():
        template["Resources"][resource]["Properties"]["CodeUri"] = f"s3://{BUCKET}/{packages[binary].name}"


# --- the stack -------------------------------------------------------------------------------------------------------


def create_stack(aws, stack, template, parameters):
    # CloudFormation refuses a parameter that the template does not have. The emulator ignores it.
    unknown = [name for name in parameters if name.split("=", 1)[0] not in template["Parameters"]]
    if unknown:
        sys.exit(f"template.yaml has no parameter {unknown[0].split('=', 1)[0]}.")
    say(f"creating the stack {stack}")
    aws.s3.put_object(Bucket=BUCKET, Key="template.json", Body=json.dumps(template).encode())
    cloudformation = aws.cloudformation
    cloudformation.create_stack(
        StackName=stack,
        TemplateURL=f"{cloudformation.meta.endpoint_url}/{BUCKET}/template.json",
        Parameters=[
            {"ParameterKey": name, "ParameterValue": value}
            for name, value in (parameter.split("=", 1) for parameter in parameters)
        ],
        Capabilities=["CAPABILITY_IAM", "CAPABILITY_NAMED_IAM", "CAPABILITY_AUTO_EXPAND"],
    )
    deadline = time.monotonic() + DEPLOY_SECONDS
    while True:
        description = cloudformation.describe_stacks(StackName=stack)["Stacks"][0]
        status = description["StackStatus"]
        if status == "CREATE_COMPLETE":
            return {output["OutputKey"]: output["OutputValue"] for output in description["Outputs"]}
        if status != "CREATE_IN_PROGRESS" or time.monotonic() > deadline:
            sys.exit(f"The stack {stack} is {status}: {why_failed(cloudformation, stack)}")
        time.sleep(0.05)


def why_failed(cloudformation, stack):
    events = cloudformation.describe_stack_events(StackName=stack)["StackEvents"]
    reasons = [
        f"{event['LogicalResourceId']}: {event.get('ResourceStatusReason', 'no reason given')}"
        for event in events
        if event["ResourceStatus"].endswith("FAILED")
    ]
    return "; ".join(reversed(reasons)) or "no reason given"


def apply_gateway_responses(aws, stack):
    say("setting the gateway responses")
    expanded = aws.cloudformation.get_template(StackName=stack, TemplateStage="Processed")["TemplateBody"]
    if isinstance(expanded, str):
        expanded = json.loads(expanded)
    for name, resource in expanded["Resources"].items():
        if resource["Type"] != "AWS::ApiGateway::RestApi":
            continue
        described = aws.cloudformation.describe_stack_resource(StackName=stack, LogicalResourceId=name)
        api = described["StackResourceDetail"]["PhysicalResourceId"]
        responses = resource["Properties"]["Body"].get("x-amazon-apigateway-gateway-responses", {})
        for response_type, response in responses.items():
            aws.apigateway.put_gateway_response(
                restApiId=api, responseType=response_type, **put_arguments(response)
            )
        for stage in aws.apigateway.get_stages(restApiId=api)["item"]:
            aws.apigateway.create_deployment(restApiId=api, stageName=stage["stageName"])


def put_arguments(response):
    arguments = {name: response[name] for name in ["responseParameters", "responseTemplates"] if name in response}
    if "statusCode" in response:
        arguments["statusCode"] = str(response["statusCode"])
    return arguments


def say(what):
    print(what, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
