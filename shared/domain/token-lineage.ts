/** A token and its issuer: the ID of the token that issued it, or that of no token. */
type IssuedToken = { readonly id: string; readonly issuer: string; readonly created_at_ms: number };

/**
 * Returns what a token issued since a time (ms since the epoch), and what these tokens issued, and so on. Only the first
 * ones are compared with the time: the others are later, whatever their clocks said.
 *
 * @param tokens each after its issuer, as is the result
 */
export const issuedSince = <Token extends IssuedToken>(
  tokens: readonly Token[],
  issuerId: string,
  sinceMs: number,
): Token[] => {
  const ids = new Set<string>();
  return tokens.filter(({ id, issuer, created_at_ms }) => {
    const isIssued = ids.has(issuer) || (issuer === issuerId && created_at_ms >= sinceMs);
    if (isIssued) ids.add(id);
    return isIssued;
  });
};

/**
 * Returns tokens without the ended ones that issued no valid one. Of the others that have ended, only the `maxEnded`
 * newest stay: what the older ones issued counts as issued by their issuers.
 */
export const withoutEnded = <Token extends IssuedToken>(
  tokens: readonly Token[],
  isValid: (token: Token) => boolean,
  maxEnded: number,
): Token[] => {
  const byId = new Map(tokens.map((token) => [token.id, token]));
  const valid = tokens.filter(isValid);
  const issuers = new Set<Token>();
  for (const { issuer } of valid) {
    for (let next = byId.get(issuer); next && !issuers.has(next); next = byId.get(next.issuer)) issuers.add(next);
  }
  const ended = tokens.filter((token) => !isValid(token) && issuers.has(token));
  const newest = ended.toSorted((one, other) => (one.id < other.id ? 1 : -1)).slice(0, maxEnded);
  const keptIds = new Set([...valid, ...newest].map(({ id }) => id));
  const keptIssuer = (issuer: string): string => {
    const token = byId.get(issuer);
    return !token || keptIds.has(issuer) ? issuer : keptIssuer(token.issuer);
  };
  return tokens.flatMap((token) => (keptIds.has(token.id) ? [{ ...token, issuer: keptIssuer(token.issuer) }] : []));
};
