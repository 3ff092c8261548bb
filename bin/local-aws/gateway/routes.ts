/** A route: its key (`GET /things/{id}` or `$default`) and its function. */
export type RouteSettings = {
  key: string;
  functionName: string;
  timeoutMs: number;
};

/** The route of a request and its decoded path parameters. */
export type Match = {
  route: RouteSettings;
  parameters: Record<string, string>;
};

type Pattern = {
  route: RouteSettings;
  method: string;
  segments: string[];
};

/**
 * Returns a function that finds the route of a method and a raw path: of the matching routes, the one with the most
 * leading static segments, otherwise `$default` if it exists.
 */
export const createRouter = (
  routes: readonly RouteSettings[],
): ((method: string, path: string) => Match | undefined) => {
  const patterns = routes
    .filter(({ key }) => key !== '$default')
    .map(pattern)
    .sort(staticFirst);
  const fallback = routes.find(({ key }) => key === '$default');
  return (method, path) => {
    const segments = path.slice(1).split('/');
    const found = patterns.find((candidate) => matches(candidate, method, segments));
    if (found) return { route: found.route, parameters: parametersOf(found, segments) };
    return fallback && { route: fallback, parameters: {} };
  };
};

const pattern = (route: RouteSettings): Pattern => {
  const [method = '', path = ''] = route.key.split(' ');
  return { route, method, segments: path.slice(1).split('/') };
};

const isParameter = (segment: string) => segment.startsWith('{') && segment.endsWith('}');

/** Sorts `GET /a/b` before `GET /a/{id}`. */
const staticFirst = (a: Pattern, b: Pattern): number => rank(a).localeCompare(rank(b));

const rank = ({ segments }: Pattern): string => segments.map((segment) => (isParameter(segment) ? '1' : '0')).join('');

const matches = (candidate: Pattern, method: string, segments: string[]): boolean => {
  if (candidate.method !== method || candidate.segments.length !== segments.length) return false;
  return candidate.segments.every((part, index) => {
    const segment = segments[index] ?? '';
    return isParameter(part) ? segment !== '' : part === segment || part === decodeURIComponent(segment);
  });
};

const parametersOf = ({ segments: parts }: Pattern, segments: string[]): Record<string, string> => {
  const pairs = parts.flatMap((part, index) =>
    isParameter(part) ? [[part.slice(1, -1), decodeURIComponent(segments[index] ?? '')]] : [],
  );
  return Object.fromEntries(pairs);
};
