import { describe, expect, it } from 'vitest';
import { changeContext } from '../../shared/api/endpoint.ts';
import { apiRequest, caller } from '../support/api-request.ts';

const contextOf = (rawQueryString: string) => changeContext(apiRequest({ rawQueryString }), caller);

describe('the context of a change', () => {
  it('is the token, the request, and who and why', () => {
    expect(contextOf('_who=jane&_why=New%20rota&x=1')).toEqual({
      actor: { type: 'token', ...caller.token },
      request_id: 'request-1',
      ip_address: '192.0.2.1',
      who: 'jane',
      why: 'New rota',
    });
  });

  it.each(['', '_who=&_why=', 'who=jane&why=x'])('has neither who nor why for the query "%s"', (query) => {
    expect(contextOf(query)).toMatchObject({ who: undefined, why: undefined });
  });

  it('truncates texts to 255 code points, and replaces control characters and lone surrogates', () => {
    expect(contextOf(`_who=${encodeURIComponent('😀'.repeat(300))}`).who).toBe('😀'.repeat(255));
    expect(contextOf('_why=a%1b[31m%0ab%e2%80%aec%ed%a0%80').why).toMatch(/^a\ufffd\[31m\ufffdb\ufffdc\ufffd+$/);
  });
});
