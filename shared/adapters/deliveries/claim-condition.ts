/**
 * Returns the condition that the claim of a delivery or an incident lock still holds. Each claim has its own
 * `claim_id`, and ending a claim changes `lease_until_ms`.
 */
export const heldBy = ({ claim_id, lease_until_ms }: { claim_id: string; lease_until_ms: number }) => ({
  ConditionExpression: 'claim_id = :claim_id AND lease_until_ms = :lease_until_ms',
  ExpressionAttributeValues: { ':claim_id': claim_id, ':lease_until_ms': lease_until_ms },
});
