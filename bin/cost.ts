// `npm run -s cost -- …`: the monthly bill of a deployed stack.
require('./supported-node.ts');
import('./cost/main.ts');
