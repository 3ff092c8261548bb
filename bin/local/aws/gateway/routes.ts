/** A route of the HTTP API: its key (`GET /things/{id}` or `$default`) and the function that it calls. */
export type RouteSettings = {
  key: string;
  functionName: string;
  timeoutMs: number;
};

/** The route that a request took, and the values of the parameters in its path, decoded. */
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
 * Finds the route of a method and a path (still encoded, starting with `/`): of those that fit, the one that is static
 * furthest to the left; else `$default`, if there is one.
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
    const found = patterns.find((candidate) => fits(candidate, method, segments));
    if (found) return { route: found.route, parameters: parametersOf(found, segments) };
    return fallback && { route: fallback, parameters: {} };
  };
};

const pattern = (route: RouteSettings): Pattern => {
  const [method = '', path = ''] = route.key.split(' ');
  return { route, method, segments: path.slice(1).split('/') };
};

const isParameter = (segment: string) => segment.startsWith('{') && segment.endsWith('}');

/** `GET /a/b` comes before `GET /a/{id}`, and that before `ANY /a/{id}`. */
const staticFirst = (a: Pattern, b: Pattern): number => rank(a).localeCompare(rank(b));

const rank = ({ method, segments }: Pattern): string =>
  segments.map((segment) => (isParameter(segment) ? '1' : '0')).join('') + (method === 'ANY' ? '1' : '0');

const fits = (candidate: Pattern, method: string, segments: string[]): boolean => {
  if (candidate.method !== 'ANY' && candidate.method !== method) return false;
  if (candidate.segments.length !== segments.length) return false;
  return candidate.segments.every((part, index) => {
    const given = segments[index] ?? '';
    return isParameter(part) ? given !== '' : part === given || part === decodeURIComponent(given);
  });
};

const parametersOf = ({ segments: parts }: Pattern, segments: string[]): Record<string, string> => {
  const pairs = parts.flatMap((part, index) =>
    isParameter(part) ? [[part.slice(1, -1), decodeURIComponent(segments[index] ?? '')]] : [],
  );
  return Object.fromEntries(pairs);
};
