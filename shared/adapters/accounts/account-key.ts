/** Returns the primary key of a tenant's account (table Accounts). */
export const accountKey = (tenant: string) => ({ pk: `account#${tenant}` });
