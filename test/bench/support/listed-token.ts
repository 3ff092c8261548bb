/** The ID of the token in the list of tokens of the AWS stub. */
export const LISTED_TOKEN_ID = 'tk01M7W36KGQDJ8S2D76FCWK3Z00';
