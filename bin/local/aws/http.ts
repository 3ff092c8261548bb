import type { IncomingMessage, Server } from 'node:http';

/** A failure that a person can stopFailing: its message is the whole explanation, so no stack trace is shown. */
export class StartError extends Error {
  override name = 'StartError';
}

/** Why a body was not read to its end: it is larger than the reader allows. */
export class BodyTooLargeError extends Error {
  override name = 'BodyTooLargeError';
}

const host = '127.0.0.1';
const waitingConnections = 2048;

/** Listens on loopback only and tells the port; `port` 0 takes a free one. */
export async function listen(server: Server, port = 0): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(explained(error, port)));
    server.listen({ host, port, backlog: waitingConnections }, resolve);
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server listens on no port.');
  return address.port;
}

function explained(error: NodeJS.ErrnoException, port: number): Error {
  if (error.code === 'EADDRINUSE') return new StartError(`Port ${port} is already in use; choose another.`);
  if (error.code === 'EACCES') return new StartError(`Port ${port} needs privileges; choose one above 1023.`);
  return error;
}

/** The address of a server that listens on `port`. */
export function origin(port: number): string {
  return `http://${host}:${port}`;
}

/** Stops listening and drops every open connection, busy ones too. */
export async function close(server: Server): Promise<void> {
  if (!server.listening) return;
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeAllConnections();
  await closed;
}

/**
 * The whole body of a request. Above `limit` bytes it rejects with `BodyTooLargeError` at once (by the announced length
 * where there is one); what still arrives is thrown away, so that the sender can finish and read its answer.
 */
export async function readBody(request: IncomingMessage, limit: number): Promise<Buffer> {
  if (Number(request.headers['content-length'] ?? 0) > limit) {
    request.resume();
    throw new BodyTooLargeError();
  }
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const take = (chunk: Buffer) => {
      size += chunk.length;
      if (size <= limit) chunks.push(chunk);
      else {
        chunks.length = 0;
        request.off('data', take).resume();
        reject(new BodyTooLargeError());
      }
    };
    request.on('data', take);
    request.on('error', reject);
    request.on('end', () => {
      const [first] = chunks;
      resolve(chunks.length === 1 && first ? first : Buffer.concat(chunks));
    });
  });
}
