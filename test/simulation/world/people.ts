import { type ApiRequest, type ApiResponse, type SimulatedStack, START_MS } from '../engine/stack.ts';
import type { PersonRequest } from './observations.ts';
import { type Arrival, movedUrlOf } from './receivers.ts';
import type { PersonAction } from './scenario.ts';

export type PeopleOptions = {
  stack: SimulatedStack;
  tokenOf: (tenant: string) => string;
  idOf: (index: number) => string;
  /** What destinations have got. */
  arrivals: readonly Arrival[];
  nowMs: () => number;
  trace: (line: string) => void;
};

type SimpleAction = Exclude<PersonAction, { kind: 'revoke' | 'create' | 'opt-out' | 'undo-opt-out' }>;

/** What the buttons of the page of recipients send. */
const buttons = {
  'opt-out': new URLSearchParams('List-Unsubscribe=One-Click'),
  'undo-opt-out': new URLSearchParams('Resume=Confirm'),
} as const;

const LINK = /\/opt-out\?\S+/;

/** Returns method, path and body of the request of an action. @param timeMs now, ms since the epoch */
const requestOf = (
  action: SimpleAction,
  idOf: (index: number) => string,
  timeMs: number,
): [method: string, path: string, body?: object] => {
  const path = 'notification' in action ? `/notifications/${idOf(action.notification)}` : '';
  const moved = 'notification' in action ? { url: movedUrlOf(`d${action.notification}`) } : {};
  switch (action.kind) {
    case 'delete':
      return ['DELETE', path];
    case 'relabel':
      return ['PUT', path, { label: `d${action.notification} at ${action.atMs}` }];
    case 'mute':
      return ['PUT', path, { muted_until: action.lengthMs === 0 ? 0 : timeMs + action.lengthMs }];
    case 'redeliver':
      return ['POST', `${path}/redeliver`, { since: 0 }];
    case 'retry-now':
      return ['POST', `${path}/redeliver`, { status: 'pending' }];
    case 'test':
      return ['POST', `${path}/test`, {}];
    case 'reroute':
      return ['PUT', path, { details: moved }];
    case 'retype':
      return ['PUT', path, { type: 'webhook', details: moved }];
    case 'sign':
      return ['POST', `${path}/signing-secret`];
    case 'unsign':
      return ['DELETE', `${path}/signing-secret`];
    case 'summaries':
      return ['PUT', '/account', { summaries: action.summaries ?? {} }];
    case 'contacts':
      return ['PUT', '/account', { technical_contacts: action.addresses }];
    case 'fallback': {
      const ids = action.fallback === undefined ? [] : [idOf(action.fallback)];
      return ['PUT', '/account', { escalation_notifications: ids }];
    }
    case 'rotate':
      return ['POST', '/account/rotate-signing-secret'];
    case 'token':
      return ['POST', '/tokens', { label: 'another', role: 'observer' }];
  }
};

/** Returns the label of a notification that is created in a run. */
export const createdLabel = ({ atMs }: { atMs: number }): string => `created at ${atMs}`;

export const createPeople = ({ stack, tokenOf, idOf, arrivals, nowMs, trace }: PeopleOptions) => {
  const requests: PersonRequest[] = [];

  /** Sends the request of a person, again after a 5xx until it succeeds. */
  const insist = async (request: ApiRequest, tries: number): Promise<ApiResponse[]> => {
    const responses: ApiResponse[] = [];
    for (let attempt = 0; attempt < tries; attempt++) {
      const response = await stack.request(request);
      responses.push(response);
      trace(`${request.method} ${request.path}: ${response.status}`);
      if (response.status < 500) break;
      await new Promise((resolve) => setTimeout(resolve, 1_000));
    }
    return responses;
  };

  const act = async (action: SimpleAction): Promise<void> => {
    const startedMs = nowMs();
    const token = tokenOf(action.tenant);
    const [method, path, body] = requestOf(action, idOf, stack.time.now());
    const request = { method, path, token, body };
    // Sometimes two people rotate the secret at the same time. The account then shows which secrets sign.
    const isTwice = action.kind === 'rotate' && action.atMs % 2 === 0;
    const responses = await Promise.all(
      (isTwice ? [request, request] : [request]).map((each) => insist(each, action.kind === 'test' ? 1 : 5)),
    );
    const account = isTwice ? await insist({ method: 'GET', path: '/account', token }, 1) : [];
    requests.push({ action, startedMs, endedMs: nowMs(), responses: [...responses.flat(), ...account] });
  };

  /** Creates a token, and another one with it, revokes the first or both, and asks for one more with what was revoked. */
  const revoke = async (action: Extract<PersonAction, { kind: 'revoke' }>): Promise<void> => {
    const startedMs = nowMs();
    const token = tokenOf(action.tenant);
    const create = (by: string) => ({
      method: 'POST',
      path: '/tokens',
      token: by,
      body: { label: 'x', role: 'admin' },
    });
    const createBy = async (by: string): Promise<ApiResponse[]> => {
      const responses = await insist(create(by), 1);
      requests.push({ action: { ...action, kind: 'token' }, startedMs, endedMs: nowMs(), responses });
      return responses;
    };
    const [created] = await createBy(token);
    if (created?.status !== 201) return;
    const { id, token: secret }: { id: string; token: string } = JSON.parse(created.body);
    const [second] = await createBy(secret);
    const query = action.isSince ? `?issued_since=${START_MS + startedMs}` : '';
    const revoked = await insist({ method: 'DELETE', path: `/tokens/${id}${query}`, token }, 5);
    const isRevoked = revoked.at(-1)?.status === 204;
    const refused = isRevoked ? await insist(create(secret), 3) : [];
    if (isRevoked && action.isSince && second?.status === 201) {
      refused.push(...(await insist(create(JSON.parse(second.body).token), 3)));
    }
    requests.push({ action, startedMs, endedMs: nowMs(), responses: [...revoked, ...refused] });
  };

  /** Creates a notification, again after a 5xx, and once more as if the answer had been lost. */
  const create = async (action: Extract<PersonAction, { kind: 'create' }>): Promise<void> => {
    const startedMs = nowMs();
    const request = {
      method: 'POST',
      path: '/notifications',
      token: tokenOf(action.tenant),
      headers: { 'idempotency-key': `key ${action.atMs}` },
      body: { label: createdLabel(action), type: 'atomfeed', details: { category: 'created' } },
    };
    const responses = [...(await insist(request, 5)), ...(await insist(request, 5))];
    requests.push({ action, startedMs, endedMs: nowMs(), responses });
  };

  /** Opens the page of the newest email, presses its button, and opens it again. Without an email, there is no link. */
  const useLink = async (action: Extract<PersonAction, { kind: keyof typeof buttons }>): Promise<void> => {
    const startedMs = nowMs();
    const own = arrivals.filter(({ to }) => to === action.to);
    const [path] = own.flatMap(({ text }) => LINK.exec(text)?.[0] ?? []).slice(-1);
    if (path === undefined) return;
    await insist({ method: 'GET', path, token: '' }, 1);
    const responses = await insist({ method: 'POST', path, token: '', body: buttons[action.kind] }, 5);
    await insist({ method: 'GET', path, token: '' }, 1);
    requests.push({ action, startedMs, endedMs: nowMs(), responses });
  };

  const perform = (action: PersonAction): Promise<void> => {
    if ('to' in action) return useLink(action);
    if (action.kind === 'create') return create(action);
    return action.kind === 'revoke' ? revoke(action) : act(action);
  };

  return {
    requests,
    act: perform,
  };
};
