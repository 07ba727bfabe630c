// Every library of the project holds this.
int vx_layers_library();
