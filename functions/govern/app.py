"""What is asked of governance: erasures, receipts, holds, the audit trail; and the deletion of parts."""

from lethe.entry.lambda_handler import LambdaHandler
from lethe.entry.wiring.erasing import build_govern as build

lambda_handler = LambdaHandler(build)
