"""Sends alarm events, one per line of standard input, to the SQS queue in QUEUE_URL. Exits with 1 unless SQS has
accepted all. Setup: pip install 'boto3>=1.29'. Run: python3 send_events.py < events.ndjson"""

import json
import os
import random
import re
import sys
import time

import boto3
from botocore.exceptions import BotoCoreError, ClientError

if tuple(map(int, boto3.__version__.split(".")[:2])) < (1, 29):
    sys.exit(f"boto3 {boto3.__version__} is too old: install 1.29 or newer")  # before, SQS had another protocol

MAX_ENTRIES = 10
MAX_BATCH_BYTES = 1_000_000  # SQS accepts 1 MiB
MAX_EVENT_BYTES = 256 * 1024
MAX_ATTEMPTS = 3
TENANT_ID = re.compile(r"[\x21-\x7e]{1,128}")


class Rejected(Exception):
    """Why a line cannot be sent."""


def reject_constant(name):
    raise ValueError(f"{name} is not JSON")


def to_message(number, line):
    """Checks a line, whose text is sent as it is, with every digit of its numbers."""
    try:
        text = line.decode("utf-8")
        event = json.loads(text, parse_constant=reject_constant)
    except (ValueError, RecursionError):
        raise Rejected("InvalidJson") from None
    event = event if isinstance(event, dict) else {}
    event_id, tenant_id = event.get("event_id"), event.get("tenant_id")
    if not isinstance(event_id, str):
        raise Rejected("NoEventId")
    if not isinstance(tenant_id, str) or not TENANT_ID.fullmatch(tenant_id):
        raise Rejected("NoTenantId")
    # JSON permits these two characters and SQS rejects them.
    body = text.replace("\ufffe", "\\ufffe").replace("\uffff", "\\uffff")
    size = len(body.encode("utf-8"))
    if size > MAX_EVENT_BYTES:
        raise Rejected("TooLarge")
    return {"line": number, "event_id": event_id, "tenant_id": tenant_id, "body": body, "size": size}


def read_messages(lines):
    messages, rejected = [], []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            messages.append(to_message(number, line.rstrip(b"\r\n")))
        except Rejected as reason:
            rejected.append((number, str(reason)))
    return messages, rejected


def batches_of(messages):
    batch, size = [], 0
    for message in messages:
        if batch and (len(batch) == MAX_ENTRIES or size + message["size"] > MAX_BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(message)
        size += message["size"]
    if batch:
        yield batch


def send_messages(sqs, queue_url, messages):
    """Returns lines that can never be sent as they are, with a code, and messages to keep and send again."""
    rejected, unsent = [], messages
    for attempt in range(MAX_ATTEMPTS):
        if not unsent:
            break
        if attempt > 0:
            time.sleep(0.5 * 2**attempt * random.random())
        failed = []
        for batch in batches_of(unsent):
            entries = [
                {"Id": str(index), "MessageBody": message["body"], "MessageGroupId": message["tenant_id"]}
                for index, message in enumerate(batch)
            ]
            try:
                response = sqs.send_message_batch(QueueUrl=queue_url, Entries=entries)
            except (BotoCoreError, ClientError) as error:
                print(error, file=sys.stderr)  # the SDK has repeated the request already
                failed += batch
                continue
            for success in response.get("Successful", []):
                print("sent", batch[int(success["Id"])]["event_id"], success["MessageId"])
            for failure in response.get("Failed", []):
                message = batch[int(failure["Id"])]
                if failure["SenderFault"]:
                    rejected.append((message["line"], failure["Code"]))
                else:
                    failed.append(message)
        unsent = failed
    return rejected, unsent


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
    messages, invalid = read_messages(sys.stdin.buffer)
    rejected, unsent = send_messages(boto3.client("sqs"), os.environ["QUEUE_URL"], messages)
    for number, code in invalid + rejected:
        print("rejected line", number, code)
    for message in unsent:
        print("unsent line", message["line"], message["event_id"])
    sys.exit(1 if invalid or rejected or unsent else 0)
