import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { close, listen, origin } from 'local-aws/http.ts';
import { describe, expect, it } from 'vitest';
import { readSources } from '../../../bin/ops/tenant/import-source.ts';
import { useStarted } from '../../support/use-started.ts';

const directory = useStarted(
  () => ({ path: mkdtempSync(join(tmpdir(), 'import-')) }),
  ({ path }) => rmSync(path, { recursive: true }),
);

const read = (...sources: string[]) => Array.fromAsync(readSources(sources, 'secret'));

/** Reads a file with this content, and returns its records with places relative to the file. */
const readContent = async (content: string | Uint8Array) => {
  const file = join(directory.path, 'source');
  writeFileSync(file, content);
  return (await read(file)).map(({ place, ...rest }) => [place.replace(`${file}:`, ''), ...Object.values(rest)]);
};

describe('a file to import', () => {
  it.each([
    ['a record', '{"id":"a"}', [['1', { id: 'a' }]]],
    [
      'a page',
      '{"values":[{"id":"a"},2],"metadata":{}}',
      [
        ['1, index 0', { id: 'a' }],
        ['1, index 1', 2],
      ],
    ],
    ['an indented array after empty lines and a byte order mark', '\u{feff}\n\n[\n  1\n]\n', [['3, index 0', 1]]],
    [
      'lines',
      '{"id":"a"}\r\n\n["b"]\n{"values":["c"]}',
      [
        ['1', { id: 'a' }],
        ['3, index 0', 'b'],
        ['4, index 0', 'c'],
      ],
    ],
    ['nothing', '\n', []],
  ])('can contain %s', async (_, content, records) => {
    expect(await readContent(content)).toEqual(records);
  });

  it('has its bad lines named, and its others read', async () => {
    const error = 'is not valid JSON';
    expect(await readContent('1\n{"id":\n2\n}')).toEqual([
      ['1', 1],
      ['2', error],
      ['3', 2],
      ['4', error],
    ]);
    expect(await readContent('\n{"id":\n"a"')).toEqual([['2', error]]);
  });

  it('can be larger than any of its lines may be', async () => {
    const line = `{"id":"${'ü'.repeat(30_000)}"}\n`;
    expect(await readContent(line.repeat(20))).toHaveLength(20);
    await expect(readContent(`"${'x'.repeat(64 * 1024 * 1024)}`)).rejects.toThrow('more than 64 MB');
  });

  it('must be UTF-8, because a replaced character would be stored', async () => {
    await expect(readContent(Buffer.from('{"id":"\xfc"}', 'latin1'))).rejects.toThrow(/source cannot be read: .*utf-8/);
  });
});

describe('a list to import', () => {
  const requests: { url: string | undefined; token: unknown }[] = [];
  /** The query of the next page by query of a page. */
  let next: Record<string, string | null> = {};
  const server = useStarted(
    async () => {
      const started = createServer(({ url = '', headers }, response) => {
        requests.push({ url, token: headers['x-auth-token'] });
        const { search } = new URL(url, 'http://host');
        if (!(search in next)) response.statusCode = 503;
        response.end(JSON.stringify({ values: [search], metadata: { next_href: next[search] } }));
      });
      return { url: `${origin(await listen(started))}/v1/notifications`, stop: () => close(started) };
    },
    ({ stop }) => stop(),
  );

  it('is read page by page, and the token is sent to no other address', async () => {
    next = { '?limit=2': 'https://elsewhere.example/notifications?limit=2&marker=b', '?limit=2&marker=b': null };
    const records = await read(`${server.url}?limit=2`);
    expect(records.map((found) => 'record' in found && found.record)).toEqual(['?limit=2', '?limit=2&marker=b']);
    expect(requests).toEqual(
      ['', '&marker=b'].map((marker) => ({ url: `/v1/notifications?limit=2${marker}`, token: 'secret' })),
    );
  });

  it('fails if a page cannot be read or is returned twice', async () => {
    next = { '?a': '?b', '?b': '?a' };
    await expect(read(`${server.url}?a`)).rejects.toThrow(/\?a is the next page of a later one\.$/);
    await expect(read(`${server.url}?c`)).rejects.toThrow(/\?c cannot be read: status 503$/);
  });

  it('needs a token and HTTPS', async () => {
    await expect(read('http://example.com/notifications')).rejects.toThrow('only by HTTPS');
    const withoutToken = readSources([server.url]);
    await expect(withoutToken.next()).rejects.toThrow('SOURCE_TOKEN');
  });
});
