import { describe, expect, it } from 'vitest';
import { parseAuditRange } from '../../shared/api/time-parameters.ts';

const parse = (text: string) => parseAuditRange(new URLSearchParams(text));

describe('the range of audit entries', () => {
  it('is everything by default, oldest first', () => {
    expect(parse('')).toEqual({ fromMs: 0, toMs: 9_999_999_999_999, isReverse: false });
  });

  it('has both ends in ms', () => {
    expect(parse('from=0&to=1795295478841')).toMatchObject({ fromMs: 0, toMs: 1_795_295_478_841 });
  });

  it.each(['true', 'True', 'TRUE'])('is reversed by %s', (text) => {
    expect(parse(`reverse=${text}`).isReverse).toBe(true);
  });

  it.each(['false', 'False', '1', ''])('is not reversed by "%s"', (text) => {
    expect(parse(`reverse=${text}`).isReverse).toBe(false);
  });

  it.each(['', '-1', '1.5', '1795295478', '10000000000000', 'today'])('rejects the time "%s"', (text) => {
    const rule = 'must be 0 or a whole number from 1000000000000 to 9999999999999: milliseconds since the epoch';
    expect(() => parse(`from=${text}`)).toThrow(
      expect.objectContaining({ type: 'badRequest', details: `from: ${rule}` }),
    );
    expect(() => parse(`from=${text}&to=${text}`)).toThrow(
      expect.objectContaining({ details: `from: ${rule}; to: ${rule}` }),
    );
  });
});
