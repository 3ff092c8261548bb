import { describe, expect, it } from 'vitest';
import { attributesDigest, isValidContent, messageBytes } from '../../sqs/queued-message.ts';

describe('a queued message', () => {
  it('has the attribute digest that AWS returns', () => {
    const timestamp = new Map([['timestamp', { dataType: 'Number', value: '1493147359900' }]]);
    expect(attributesDigest(timestamp)).toBe('235c5c510d26fb653d073faed50ae77c');
    const mixed = new Map([
      ['ccc', { dataType: 'String', value: 'testjunk' }],
      ['aaa', { dataType: 'Binary', value: Buffer.from([2, 3, 4]) }],
      ['zzz', { dataType: 'Number', value: '0230.01' }],
      ['öther_encodings', { dataType: 'String', value: 'Tüst' }],
    ]);
    expect(attributesDigest(mixed)).toBe('8ae21a7957029ef04146b42aeaa18a22');
    expect(attributesDigest(new Map())).toBeUndefined();
  });

  it('has a size that counts its body and each attribute name, type and value in UTF-8 bytes', () => {
    const attributes = new Map([['ä', { dataType: 'String', value: '€' }]]);
    expect(messageBytes({ body: '👋', attributes })).toBe(4 + 2 + 6 + 3);
  });

  it('may contain only the characters of XML 1.0', () => {
    expect(['', '\t\n\r ~', '\ud7ff\ue000\ufffd', '\u{10000}\u{10ffff}'].every(isValidContent)).toBe(true);
    expect(['\u0000', '\u0008', '\u000b', '\u001f', '\ud800', '\udfff', '\ufffe', '\uffff'].some(isValidContent)).toBe(
      false,
    );
  });
});
