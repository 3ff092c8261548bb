import { openApiDocument } from '../shared/api/openapi/openapi-document.ts';

// `npm run --silent openapi [-- BASE_URL]` prints the OpenAPI document of the API, published as `openapi.json`.
process.stdout.write(`${JSON.stringify(openApiDocument(process.argv[2]), null, 2)}\n`);
