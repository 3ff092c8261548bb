import type { HttpResponse } from '../../domain/http-outcome.ts';

/** Of the status line with headers, and of the body. */
export const MAX_HEAD_BYTES = 64 * 1024;
const MAX_CHUNKS = 64;

/** A status line (RFC 9112, section 4). Some servers send no reason phrase and no space before it. */
const STATUS_LINE = /^HTTP\/\d\.\d (\d{3})(?: |$)/;
/** A field line (RFC 9112, section 5) without control characters. */
const FIELD_LINE = /^([!#$%&'*+.^_`|~\w-]+):([\t\x20-\x7e\x80-\xff]*)$/;

/** Returns the value of `Retry-After` in field lines, up to the first one that is none. */
const retryAfterIn = (lines: readonly string[]): string | undefined => {
  for (const line of lines) {
    const [, name, value = ''] = FIELD_LINE.exec(line) ?? [];
    if (name === undefined) return undefined;
    if (name.toLowerCase() === 'retry-after') return value.trim() || undefined;
  }
  return undefined;
};

/**
 * Reads what Node.js could not parse, or what was cut off. Interim responses are skipped (RFC 9110, section 15.2);
 * lines may end without a carriage return (RFC 9112, section 2.2). @returns undefined without a status line
 */
export const readHead = (received: Buffer): Pick<HttpResponse, 'status' | 'retryAfter'> | undefined => {
  const lines = received.toString('latin1').split('\n');
  const unfinished = lines.length - 1;
  const texts = lines.map((line) => line.replace(/\r$/, ''));
  for (let index = 0; index < texts.length; index++) {
    // Empty lines may precede a status line, as Node.js permits.
    if (texts[index] === '') continue;
    const status = Number(STATUS_LINE.exec(texts[index] ?? '')?.[1]);
    if (Number.isNaN(status)) return undefined;
    if (status > 199) return { status, retryAfter: retryAfterIn(texts.slice(index + 1, unfinished)) };
    index = texts.indexOf('', index);
    if (index === -1) return undefined;
  }
  return undefined;
};

export class FirstBytes {
  #chunks: Buffer[] = [];
  #length = 0;

  get isEmpty(): boolean {
    return this.#length === 0;
  }

  get isFull(): boolean {
    return this.#length === MAX_HEAD_BYTES;
  }

  get bytes(): Buffer {
    return Buffer.concat(this.#chunks);
  }

  add(chunk: Buffer): void {
    const added = chunk.subarray(0, MAX_HEAD_BYTES - this.#length);
    this.#chunks.push(added);
    this.#length += added.length;
    // Chunks of one byte would keep a buffer of Node.js each.
    if (this.#chunks.length > MAX_CHUNKS) this.#chunks = [this.bytes];
  }
}
