// SPDX-License-Identifier: GPL-2.0-only
/* The kinds of disks, and their parameters as text. */
#include <linux/kernel.h>
#include <linux/string.h>

#include "model.h"

const struct lab_model *const lab_models[4] = {
	&lab_hdd, &lab_sata_ssd, &lab_nvme, &lab_cloud,
};

const struct lab_model *lab_model_find(const char *name)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(lab_models); i++)
		if (!strcmp(lab_models[i]->name, name))
			return lab_models[i];
	return NULL;
}

void lab_params_default(const struct lab_model *model, u64 *values)
{
	unsigned int i;

	for (i = 0; i < model->nr_params; i++)
		values[i] = model->params[i].value;
}

/**
 * lab_params_set() - set one parameter from text
 * @model: its model
 * @values: the values of the disk
 * @name: name of the parameter
 * @value: its new value
 *
 * Return: NULL, or an error message.
 */
const char *lab_params_set(const struct lab_model *model, u64 *values, const char *name,
			   const char *value)
{
	const struct lab_param *param;
	unsigned int i;
	u64 number;

	for (i = 0; i < model->nr_params; i++)
		if (!strcmp(model->params[i].name, name))
			break;
	if (i == model->nr_params)
		return "the model has no such parameter";
	param = &model->params[i];
	if (kstrtou64(value, 10, &number))
		return "not a whole number";
	if (number < param->min || number > param->max)
		return "out of the parameter's range";
	if (i == LAB_BLOCK_BYTES && number != 512 && number != 4096)
		return "a logical block has 512 or 4096 bytes";
	values[i] = number;
	return NULL;
}
