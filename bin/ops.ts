// `npm run -s ops -- …`: the command line for operators.
require('./supported-node.ts');
import('./ops/main.ts');
