import { once } from 'node:events';
import http, { type RequestListener } from 'node:http';
import https from 'node:https';
import net, { type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** A server on loopback that lasts as long as the test which started it. */
export type TestServer = {
  port: number;
  /** The address of a path of it by name or by number. */
  url: (name?: string, path?: string) => URL;
  /** The connections that were made to it, by the address that was dialled. */
  dialled: string[];
};

const LOOPBACK = '127.0.0.1';

const serve = async (server: net.Server, scheme: 'http' | 'https'): Promise<TestServer> => {
  const sockets = new Set<Socket>();
  const dialled: string[] = [];
  server.on('connection', (socket) => {
    sockets.add(socket);
    dialled.push(socket.localAddress ?? '');
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
  });
  server.listen(0, LOOPBACK);
  await once(server, 'listening');
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, 'close');
  });
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return { port, dialled, url: (name = LOOPBACK, path = '/') => new URL(`${scheme}://${name}:${port}${path}`) };
};

/** Starts a server that speaks HTTP. */
export const startHttp = (answer: RequestListener): Promise<TestServer> => serve(http.createServer(answer), 'http');

/** Starts a server that speaks HTTPS. */
export const startHttps = (identity: { key: string; cert: string }, answer: RequestListener): Promise<TestServer> =>
  serve(
    https.createServer(identity, answer).on('tlsClientError', () => undefined),
    'https',
  );

/** Starts a server that does what it likes with its sockets. */
export const startTcp = (act: (socket: Socket) => void, scheme: 'http' | 'https' = 'http'): Promise<TestServer> =>
  serve(net.createServer(act), scheme);

/** A port of loopback that nobody listens on. */
export const closedPort = async (): Promise<number> => {
  const server = net.createServer().listen(0, LOOPBACK);
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address !== null ? address.port : 0;
};

/** Answers with a status once the whole request has come. */
export const answering =
  (status: number, headers: Record<string, string> = {}, body = ''): RequestListener =>
  (request, response) => {
    request.resume();
    request.on('end', () => response.writeHead(status, headers).end(body));
  };

/** Writes again and again, every few milliseconds, until the other side has had enough. */
export const dripping = (socket: Socket, text: () => string): void => {
  const timer = setInterval(() => socket.write(text()), 10);
  socket.on('close', () => clearInterval(timer));
};
