import { createReadStream } from 'node:fs';
import { isJsonObject } from '../../../shared/contracts/json.ts';
import { errorSummary, OperationError, UsageError } from '../errors.ts';

/** A record of a source, or why there is none, and its place, such as `page.json:1, index 3`. */
export type SourceRecord = { place: string } & ({ record: unknown } | { error: string });

/** The maximum length of one JSON value. Files are read line by line, so they can be larger. */
const MAX_VALUE_LENGTH = 64 * 1024 * 1024;

const PAGE_TIMEOUT_MS = 60_000;

const isUrl = (source: string): boolean => /^https?:\/\//i.test(source);

/**
 * Reads the records of files (`-` is standard input) and, with the token, of all pages of lists at URLs. A file has a
 * JSON value, or one on each line: a page, an array or a record. @throws OperationError, UsageError if a source cannot
 * or must not be read
 */
export async function* readSources(sources: readonly string[], token?: string): AsyncGenerator<SourceRecord> {
  for (const source of sources) yield* isUrl(source) ? readPages(source, token) : readFile(source);
}

/** Returns the records of a page or an array, or the value as the only one. */
const recordsOf = (place: string, value: unknown): SourceRecord[] => {
  const list = isJsonObject(value) ? value.values : value;
  if (!Array.isArray(list)) return [{ place, record: value }];
  return list.map((record, index) => ({ place: `${place}, index ${index}`, record }));
};

const parseRecords = (place: string, text: string): SourceRecord[] => {
  const records = recordsOrUndefined(place, text);
  return records ?? [{ place, error: 'is not valid JSON' }];
};

const recordsOrUndefined = (place: string, text: string): SourceRecord[] | undefined => {
  try {
    return recordsOf(place, JSON.parse(text));
  } catch {
    return undefined;
  }
};

/** Yields the lines of UTF-8 bytes. @throws TypeError if they are not UTF-8 */
async function* linesOf(chunks: AsyncIterable<unknown>): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let line = '';
  for await (const chunk of chunks) {
    if (!(chunk instanceof Uint8Array)) continue;
    const [end = '', ...others] = decoder.decode(chunk, { stream: true }).split('\n');
    line += end;
    for (const next of others) {
      yield line;
      line = next;
    }
    assertLength(line);
  }
  yield line + decoder.decode();
}

const assertLength = ({ length }: string): void => {
  if (length <= MAX_VALUE_LENGTH) return;
  throw new OperationError('it has a JSON value of more than 64 MB: write one record on each line');
};

async function* readFile(file: string): AsyncGenerator<SourceRecord> {
  const name = file === '-' ? 'standard input' : file;
  const lines = linesOf(file === '-' ? process.stdin : createReadStream(file));
  try {
    yield* splitValues(name, lines);
  } catch (error) {
    throw new OperationError(`${name} cannot be read: ${errorSummary(error)}`);
  }
}

/** The first line decides: if it is JSON, each line is a value, otherwise the whole text is one. */
async function* splitValues(name: string, lines: AsyncIterable<string>): AsyncGenerator<SourceRecord> {
  let number = 0;
  let isFirst = true;
  let document: { place: string; text: string } | undefined;
  for await (const line of lines) {
    const place = `${name}:${++number}`;
    if (document) {
      document.text += `\n${line}`;
      assertLength(document.text);
    } else if (line.trim() !== '') {
      const records = isFirst ? recordsOrUndefined(place, line) : parseRecords(place, line);
      if (records) yield* records;
      else document = { place, text: line };
      isFirst = false;
    }
  }
  if (document) yield* parseRecords(document.place, document.text);
}

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);

/** Reads all pages of a list. Each next page is at the same address, so the token is sent to no other. */
async function* readPages(address: string, token: string | undefined): AsyncGenerator<SourceRecord> {
  const url = new URL(address);
  if (token === undefined) throw new UsageError('Set SOURCE_TOKEN to the token of the system at the URL.');
  if (url.protocol !== 'https:' && !LOOPBACK.has(url.hostname)) {
    throw new UsageError('A token is sent only by HTTPS, or by HTTP to this machine.');
  }
  const visited = new Set<string>();
  for (let query: string | null = url.search; query !== null; ) {
    url.search = query;
    if (visited.has(url.search)) throw new OperationError(`${url} is the next page of a later one.`);
    visited.add(url.search);
    const page = await fetchPage(url, token);
    yield* recordsOf(String(url), page);
    query = nextQuery(page, url);
  }
}

const fetchPage = async (url: URL, token: string): Promise<unknown> => {
  try {
    const response = await fetch(url, {
      headers: { accept: 'application/json', 'x-auth-token': token },
      redirect: 'error',
      signal: AbortSignal.timeout(PAGE_TIMEOUT_MS),
    });
    if (response.ok) return await response.json();
    throw new OperationError(`status ${response.status}`);
  } catch (error) {
    throw new OperationError(`${url} cannot be read: ${errorSummary(error)}`);
  }
};

const nextQuery = (page: unknown, url: URL): string | null => {
  const metadata = isJsonObject(page) ? page.metadata : undefined;
  const href = isJsonObject(metadata) ? metadata.next_href : undefined;
  return typeof href === 'string' ? new URL(href, url).search : null;
};
