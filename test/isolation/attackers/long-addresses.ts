import type { Attacker } from '../attacker.ts';

const ADDRESS = `a@${'.'.repeat(1_000_000)}@`;
const CONCURRENT = 4;

export const longAddresses: Attacker = {
  name: 'long-addresses',
  description: 'that creates notifications and changes its contacts with addresses of 1 MB',
  neighbor: 'creates',
  isHanging: false,
  everyMs: 5_000,
  async prepare({ newClient }) {
    const { post, put } = await newClient();
    const attackOnce = () => [
      post('/notifications', { label: 'long', type: 'email', details: { address: ADDRESS } }),
      put('/account', { technical_contacts: [ADDRESS] }),
    ];
    return () => Promise.all(Array.from({ length: CONCURRENT }, attackOnce).flat());
  },
};
