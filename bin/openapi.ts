// `npm run --silent openapi [-- BASE_URL]` prints the OpenAPI document of the API.
require('./supported-node.ts');
import('../shared/contracts/openapi.ts').then(({ openApiDocument }) => {
  process.stdout.write(`${JSON.stringify(openApiDocument(process.argv[2]), null, 2)}\n`);
});
