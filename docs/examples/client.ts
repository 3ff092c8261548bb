// A typed client of the API. Setup, with a copy of openapi.json:
// npm install openapi-fetch && npx openapi-typescript ./openapi.json -o api.d.ts
import createClient from 'openapi-fetch';
import type { paths } from './api.d.ts';

const api = createClient<paths>({ baseUrl: 'http://127.0.0.1:3000', headers: { 'X-Auth-Token': 'mnt_…' } });

const { data, error } = await api.GET('/notifications', { params: { query: { limit: 10 } } });
if (error) throw new Error('details' in error ? error.details : error.message);
for (const { type, label } of data.values) console.log(type, label);
