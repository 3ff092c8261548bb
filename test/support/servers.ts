import { once } from 'node:events';
import http, { type RequestListener } from 'node:http';
import https from 'node:https';
import net, { type Socket } from 'node:net';
import { onTestFinished, vi } from 'vitest';
import { listenOnLoopback } from './listen.ts';

/** A server on loopback that closes when the test finishes. */
export type TestServer = {
  port: number;
  /** Returns the URL of a path, for a host name or address. */
  url: (name?: string, path?: string) => URL;
  /** The local address of each connection. */
  connectedAddresses: string[];
};

const LOOPBACK = '127.0.0.1';

const serve = async (server: net.Server, scheme: 'http' | 'https'): Promise<TestServer> => {
  const sockets = new Set<Socket>();
  const connectedAddresses: string[] = [];
  server.on('connection', (socket) => {
    sockets.add(socket);
    connectedAddresses.push(socket.localAddress ?? '');
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
  });
  const port = await listenOnLoopback(server);
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, 'close');
  });
  return {
    port,
    connectedAddresses,
    url: (name = LOOPBACK, path = '/') => new URL(`${scheme}://${name}:${port}${path}`),
  };
};

export const startHttp = (listener: RequestListener): Promise<TestServer> => serve(http.createServer(listener), 'http');

export const startHttps = (
  certificate: { key: string; cert: string },
  listener: RequestListener,
): Promise<TestServer> =>
  serve(
    https.createServer(certificate, listener).on('tlsClientError', () => undefined),
    'https',
  );

export const startTcp = (
  onConnection: (socket: Socket) => void,
  scheme: 'http' | 'https' = 'http',
): Promise<TestServer> => serve(net.createServer(onConnection), scheme);

/** Returns a loopback port on which nothing listens. */
export const closedPort = async (): Promise<number> => {
  const server = net.createServer();
  const port = await listenOnLoopback(server);
  server.close();
  await once(server, 'close');
  return port;
};

/** Returns a listener that responds after it has received the whole request. */
export const respondWith =
  (status: number, headers: Record<string, string> = {}, body = ''): RequestListener =>
  (request, response) => {
    request.resume();
    request.on('end', () => response.writeHead(status, headers).end(body));
  };

/** Writes a text every 10 ms until the connection closes. */
export const writeRepeatedly = (socket: Socket, text: () => string): void => {
  const timer = setInterval(() => socket.write(text()), 10);
  socket.on('close', () => clearInterval(timer));
};

/** Makes AWS clients of the service call a server until `vi.unstubAllEnvs()`. */
export const stubAws = ({ url }: TestServer): void => {
  vi.stubEnv('AWS_ENDPOINT_URL', url().href);
  vi.stubEnv('AWS_REGION', 'local-1');
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'local');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'local');
};
