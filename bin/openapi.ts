import { openApiDocument } from '../shared/contracts/openapi.ts';

// `npm run --silent openapi [-- BASE_URL]` prints the OpenAPI document of the API.
process.stdout.write(`${JSON.stringify(openApiDocument(process.argv[2]), null, 2)}\n`);
