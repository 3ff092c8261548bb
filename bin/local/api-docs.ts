import { readFileSync } from 'node:fs';
import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
  request as sendRequest,
} from 'node:http';
import { fileURLToPath } from 'node:url';
import { loopbackRefusal } from 'local-aws/loopback-refusal.ts';

export type DescribedApi = {
  baseUrl: string;
  /** The token with which the page sends requests. */
  token: string;
};

/** Requests of the page go through this path, because the API permits no requests from other origins (CORS). */
const API_PATH = '/api';

/** The page loads nothing from other hosts. Swagger UI sets style attributes and has images in its style sheet. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Monitoring Notifications API</title>
<link rel="stylesheet" href="/swagger-ui.css">
<link rel="icon" href="/favicon-32x32.png">
</head>
<body>
<div id="docs"></div>
<script src="/swagger-ui-bundle.js"></script>
<script src="/docs.js"></script>
</body>
</html>
`;

/** Returns the script of the page. The page shows the URLs of the API, also in the commands for curl. */
const pageScript = ({ baseUrl, token }: DescribedApi): string => `
const api = ${JSON.stringify({ baseUrl, token, path: API_PATH })};
const ui = SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#docs',
  deepLinking: true,
  filter: true,
  defaultModelsExpandDepth: 0,
  validatorUrl: null,
  showMutatedRequest: false,
  requestInterceptor: (request) => {
    if (request.url.startsWith(api.baseUrl)) request.url = location.origin + api.path + request.url.slice(api.baseUrl.length);
    return request;
  },
  onComplete: () => ui.preauthorizeApiKey('token', api.token),
});
// Swagger UI changes its color scheme only with its top bar, which this page does not have.
const dark = matchMedia('(prefers-color-scheme: dark)');
const applyColorScheme = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', applyColorScheme);
applyColorScheme();
`;

const file = (url: string | URL): Buffer => readFileSync(fileURLToPath(url));
const swaggerUi = (name: string): Buffer => file(import.meta.resolve(`swagger-ui-dist/${name}`));

/** Returns the OpenAPI document of the repository with the local stack as its only server. */
const localDocument = (baseUrl: string): string => {
  const document: object = JSON.parse(file(new URL('../../openapi.json', import.meta.url)).toString());
  return JSON.stringify({ ...document, servers: [{ url: baseUrl, description: 'This local stack' }] });
};

type Content = { type: string; read: (api: DescribedApi) => string | Buffer };

const CONTENTS = new Map<string, Content>([
  ['/', { type: 'text/html; charset=utf-8', read: () => PAGE }],
  ['/docs.js', { type: 'text/javascript; charset=utf-8', read: pageScript }],
  ['/openapi.json', { type: 'application/json', read: ({ baseUrl }) => localDocument(baseUrl) }],
  ['/swagger-ui.css', { type: 'text/css; charset=utf-8', read: () => swaggerUi('swagger-ui.css') }],
  ['/swagger-ui-bundle.js', { type: 'text/javascript; charset=utf-8', read: () => swaggerUi('swagger-ui-bundle.js') }],
  ['/favicon-32x32.png', { type: 'image/png', read: () => swaggerUi('favicon-32x32.png') }],
]);

/** Headers of all files: no page of another origin can load them. The script contains the token. */
const COMMON_HEADERS = { 'cross-origin-resource-policy': 'same-origin', 'x-content-type-options': 'nosniff' };

/** Creates the server of the API documentation: `GET /` is the page, `GET /openapi.json` its OpenAPI document. */
export const createApiDocs = (api: DescribedApi): Server =>
  createServer((request, response) => {
    const path = (request.url ?? '/').split('?')[0] ?? '/';
    const content = CONTENTS.get(path);
    const refusal = loopbackRefusal(request.headers);
    if (refusal !== undefined) sendText(response, 403, refusal);
    else if (path.startsWith(`${API_PATH}/`)) forward(request, response, api);
    else if (content === undefined || request.method !== 'GET') sendText(response, 404, 'Not found.');
    else {
      const headers = { 'content-type': content.type, 'content-security-policy': CONTENT_SECURITY_POLICY };
      response.writeHead(200, { ...COMMON_HEADERS, ...headers, 'cache-control': 'no-cache' }).end(content.read(api));
    }
  });

const sendText = (response: ServerResponse, status: number, text: string): void => {
  response.writeHead(status, { ...COMMON_HEADERS, 'content-type': 'text/plain; charset=utf-8' }).end(`${text}\n`);
};

/** Forwards a request of the page to the API, and its response to the page. */
const forward = (request: IncomingMessage, response: ServerResponse, { baseUrl }: DescribedApi): void => {
  const { host: _, ...headers } = request.headers;
  const target = baseUrl + (request.url ?? '').slice(API_PATH.length);
  const forwarded = sendRequest(target, { method: request.method, headers }, (received) => {
    response.writeHead(received.statusCode ?? 502, received.headers);
    received.pipe(response);
  });
  forwarded.on('error', () => (response.headersSent ? response.destroy() : sendText(response, 502, 'No response.')));
  request.pipe(forwarded);
};
