import type { IncomingMessage, Server } from 'node:http';
import { StartError } from './start-error.ts';

/** The request body exceeds the size limit. */
export class BodyTooLargeError extends Error {
  override name = 'BodyTooLargeError';
}

const HOST = '127.0.0.1';
const BACKLOG = 2048;

/**
 * Listens on the loopback address and returns the port; `port` 0 selects a free port. Throws a `StartError` if the port
 * is unavailable.
 */
export const listen = async (server: Server, port = 0): Promise<number> => {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(startError(error, port)));
    server.listen({ host: HOST, port, backlog: BACKLOG }, resolve);
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server does not listen on a port.');
  return address.port;
};

const startError = (error: NodeJS.ErrnoException, port: number): Error => {
  if (error.code !== 'EADDRINUSE') return error;
  return new StartError(`Port ${port} is in use: pass --port with another number, or --port 0 for a free port.`);
};

/** Returns the base URL of a server that listens on `port`. */
export const origin = (port: number): string => `http://${HOST}:${port}`;

/** Stops listening and closes all connections, including active ones. */
export const close = async (server: Server): Promise<void> => {
  if (!server.listening) return;
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeAllConnections();
  await closed;
};

/**
 * Reads the body of a request. Rejects with `BodyTooLargeError` as soon as it exceeds `maxBytes`, or before reading if
 * its `content-length` does. Discards the rest of the body so that the client can finish sending and read the response.
 */
export const readBody = async (request: IncomingMessage, maxBytes: number): Promise<Buffer> => {
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) {
    request.resume();
    throw new BodyTooLargeError();
  }
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const onData = (chunk: Buffer) => {
      size += chunk.length;
      if (size <= maxBytes) chunks.push(chunk);
      else {
        chunks.length = 0;
        request.off('data', onData).resume();
        reject(new BodyTooLargeError());
      }
    };
    request.on('data', onData);
    request.on('error', reject);
    request.on('end', () => {
      const [first] = chunks;
      resolve(chunks.length === 1 && first ? first : Buffer.concat(chunks));
    });
  });
};
