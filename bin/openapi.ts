// `npm run --silent openapi [-- BASE_URL]` prints the OpenAPI document of the API, published as `openapi.json`.
require('./supported-node.ts');
import('./openapi/openapi-document.ts').then(({ openApiDocument }) => {
  process.stdout.write(`${JSON.stringify(openApiDocument(process.argv[2]), null, 2)}\n`);
});
