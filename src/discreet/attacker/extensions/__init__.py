"""Extensions of the attack: other purchases, uncertain amounts, unconfirmed success."""
